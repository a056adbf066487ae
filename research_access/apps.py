from django.apps import AppConfig


class ResearchAccessConfig(AppConfig):
    name = "research_access"
    verbose_name = "Research access"
